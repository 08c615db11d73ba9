"""Many tenants, one model: thresholds in bulk, on the cores of a machine or on a Ray cluster.

Data flows one way: `layout` finds the tenants, `columns` and `folders` read them in batches, an
engine (`local_engine`, `ray_engine`) hands the batches to workers, `row` makes a row of each
tenant, `parts` keeps finished rows safe, and `bulk` ties these together. `exact` counts the pairs
of a labelled set on the same engines.
"""
