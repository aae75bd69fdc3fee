"""The code that runs in the process of a Lambda function."""
