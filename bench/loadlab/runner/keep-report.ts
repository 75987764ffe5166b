/** Hands a comparison to the report writer, which is loaded late: it brings a plotting library that measuring must not wait for. */
import { join } from 'node:path'
import type { ComparisonRun } from '../report/repetition.js'

/** Writes everything into a folder of its own below `reports`; returns the path of the folder. */
export async function keepReport(run: ComparisonRun, reports: string): Promise<string> {
  const { writeReport } = await import('../report/write-report.js')
  const folder = join(reports, run.id)
  writeReport(run, folder)
  return folder
}
