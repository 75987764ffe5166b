/** A load tool that is a line of JavaScript, and the place where a test runs it. */
import type { Test } from 'tap'
import { ChildProcesses } from '../../bench/harness/server/child-processes.js'
import type { PlannedRun } from '../../bench/loadlab/runner/plan.js'
import { COMPARE_SCENARIOS } from '../../bench/loadlab/runner/scenarios.js'
import { TOOLS } from '../../bench/loadlab/tools/catalogue.js'
import type { ToolFigures, ToolJob, ToolVariant } from '../../bench/loadlab/tools/tool.js'
import { tempFolder } from '../support/data/temp-folder.js'

const WRK = TOOLS.find(({ name }) => name === 'wrk')!

export const TOY_FIGURES: ToolFigures = {
  durationS: 1,
  done: 100,
  errors: {},
  statuses: { '2xx': 100 },
  rps: 100,
  mean: 1,
  percentiles: { p50: 1, p99: 2 },
  max: 3,
  quantum: 0.001,
}

/** Runs a script for its job, with figures that need no output unless the caller reads one. */
export function toyVariant(
  script: string | ((job: ToolJob) => string),
  parse: ToolVariant['parse'] = () => TOY_FIGURES,
  more: Partial<ReturnType<ToolVariant['command']>> = {},
): ToolVariant {
  const scriptOf = typeof script === 'string' ? () => script : script
  const command = (job: ToolJob) => ({ argv: [process.execPath, '-e', scriptOf(job)], ...more })
  return { ...WRK.variants[0]!, name: 'toy', command, parse }
}

/** A run of a toy in the scenario of that name. */
export const toyRun = (variant: ToolVariant, scenario: string, round = 1): PlannedRun => ({
  round,
  scenario: COMPARE_SCENARIOS.find(({ name }) => name === scenario)!,
  installed: { tool: WRK, version: 'toy 1', program: '' },
  variant,
  seconds: 1,
})

/** Where tools run: a folder and children that go with the test. */
export function toolPlace(t: Test) {
  const children = new ChildProcesses()
  const place = { cores: null, children, tempFolder: tempFolder(t) }
  t.teardown(() => children.stopAll())
  return place
}
