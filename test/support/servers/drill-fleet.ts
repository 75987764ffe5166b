/** The fleet of the drill, for tests that play its scenarios. */
import { fileURLToPath } from 'node:url'
import { DRILL_ENVIRONMENT, DRILL_MACHINES } from '../../../src/drill/fleet/fleet-scenario.js'
import { FleetStage } from '../../../src/drill/fleet/stage.js'
import type { Lifetime } from '../data/temp-folder.js'

const MAIN = fileURLToPath(new URL('../../../src/main.js', import.meta.url))

/** Starts a PostgreSQL and the machines, which end with `lifetime`. */
export async function drillFleetStage(lifetime: Lifetime): Promise<FleetStage> {
  const command = [process.execPath, MAIN, 'serve']
  const stage = await FleetStage.open({ command, size: DRILL_MACHINES, environment: DRILL_ENVIRONMENT })
  lifetime.after(() => stage.close())
  return stage
}
