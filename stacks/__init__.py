"""The stacks that app.py deploys."""
