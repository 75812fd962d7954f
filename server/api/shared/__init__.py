"""What several resources of the API use: a call, its body and answer, plans, forecasts, rows of jobs."""
