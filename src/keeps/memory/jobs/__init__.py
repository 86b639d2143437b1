"""The worker: takes due jobs from the queue, and runs each as its tenant."""
