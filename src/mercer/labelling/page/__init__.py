"""A page in the browser to label on: a small server on this machine, and what the browser runs."""
