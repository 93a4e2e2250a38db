"""AWS CDK constructs for GPU training clusters on Slurm."""
