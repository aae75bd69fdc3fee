"""What runs in the process of a Lambda function."""
