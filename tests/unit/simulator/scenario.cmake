# Scenario files: what is refused, and what a run reports.
simulator_unit(scenario test_scenario_index.c test_scenario_parse.c test_scenario_report.c)
simulator_unit(scenario_oracle test_scenario_oracle.c)
