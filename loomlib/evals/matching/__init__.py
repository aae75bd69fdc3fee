"""Comparing expected with actual values: fields, tool calls and paths of tool calls."""
