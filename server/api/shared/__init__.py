"""What several resources of the API use: a call, its body and its answer, checks of plans, forecasts, rows of jobs."""
