"""The paper's scenarios as a benchmark: definitions, one runner, results, tables, figures."""
