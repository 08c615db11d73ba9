// PostgreSQL with pgvector, in WebAssembly: runs a statement for each query, for several jobs.
// Standard input: [{"stored": [[...]], "queries": [[...]], "statement": "..."}]
// Standard output: ids[job][query]
import { readFileSync } from "node:fs";
import { PGlite } from "@electric-sql/pglite";
import { vector } from "@electric-sql/pglite-pgvector";

const db = await PGlite.create({ extensions: { vector } });
await db.exec("CREATE EXTENSION vector; CREATE TABLE items (id integer, embedding vector)");
const found = [];
for (const { stored, queries, statement } of JSON.parse(readFileSync(0, "utf8"))) {
  await db.exec("TRUNCATE items");
  const rows = stored.map((row, id) => `(${id}, '${JSON.stringify(row)}')`);
  await db.exec(`INSERT INTO items VALUES ${rows.join()}`);
  const ids = [];
  for (const query of queries)
    ids.push((await db.query(statement, [JSON.stringify(query)])).rows.map((row) => row.id));
  found.push(ids);
}
console.log(JSON.stringify(found));
await db.close();
