"""Which tests run more than once, and which come first: files and folders of tests/."""

# Where results of one arithmetic are held against another's: what a processor's instructions could change. Figures,
# claims and plots are not among them: they compare numbers with themselves. .ci/run runs these with fewer instructions.
NUMERICAL = (
    "models",
    "nonlinearity",
    "papers/test_claims_oracle.py",
    "probes",
    "test_fresh_runs.py",
    "test_own_models.py",
    "test_run.py",
    "test_table_runs.py",
    "training",
)
# What stands in a folder of these and compares no numbers, or chooses its instructions itself.
NOT_NUMERICAL = (
    "nonlinearity/test_compiler.py",
    "nonlinearity/test_elementwise.py",
    "nonlinearity/test_gpu.py",
    "nonlinearity/test_swapped.py",
    "nonlinearity/test_zoo.py",
    "probes/test_cost.py",
    "probes/test_wrong_input.py",
    "training/test_live.py",
    "training/test_new_kind.py",
    "training/test_timing.py",
)
# Where splines are evaluated, searched and trained, by whatever kernel there is: .ci/run runs these with PyTorch's
# formula in its place. Tests that choose the kernels themselves are not among them.
KERNEL = (
    "models/test_attention.py",
    "models/test_mlp.py",
    "models/test_transformer.py",
    "nonlinearity/test_channels.py",
    "nonlinearity/test_scaled.py",
    "nonlinearity/test_shape.py",
    "nonlinearity/test_spline.py",
    "nonlinearity/test_swap.py",
    "nonlinearity/test_symmetry.py",
    "test_run.py",
    "test_table_runs.py",
    "training/test_episodes.py",
    "training/test_fleet.py",
    "training/test_interpolation.py",
    "training/test_language_search.py",
    "training/test_module_episodes.py",
    "training/test_shared_search.py",
    "training/test_stream_search.py",
    "training/test_table_search.py",
    "training/test_two_loss.py",
)
# What takes longest, in this order: a worker that began one of them last would leave the others idle. Those of the
# browser come first, because much of their time is waiting, in which other workers compute.
FIRST = (
    "browser/test_notebooks.py",
    "browser/test_hypernetwork.py",
    "browser/test_editing.py",
    "browser",
    "test_notebooks.py",
    "test_recipes.py",
    "catalogue/test_shipped_figures.py",
    "catalogue/test_build.py",
    "test_oracle.py",
    "test_cli.py",
    "test_cluster.py",
    "test_buckets.py",
    "test_leases.py",
    "test_engine.py",
    "catalogue",
    "models/test_baselines.py",
    "papers/hypernetwork",
    "test_kills.py",
    "test_workers.py",
    "test_examples.py",
    "test_gpu_batch.py",
    "test_new.py",
    "probes/test_embedding.py",
    "store",
    "data",
    "papers",
)
# Tests of the browser that need no JupyterLab. The others are one worker's: JupyterLab's server, page and the process
# that forks its kernels take 20 seconds of processor to begin.
PAGES = ("browser/test_gallery.py", "browser/test_pages.py")
