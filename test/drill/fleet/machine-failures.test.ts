// Runs alone: what others do beside it would count as the slowness of a machine.
import { test } from 'tap'
import { playFleetScenario } from '../../../src/drill/fleet/fleet-drill.js'
import { FLEET_SCENARIOS } from '../../../src/drill/fleet/fleet-scenarios.js'
import { drillFleetStage } from '../../support/servers/drill-fleet.js'
import { WITHOUT_POSTGRES } from '../../support/servers/postgres-cluster.js'

/** Times are told by the drill; here they are only bounded. */
const SLACK = 3

test('the rows of the failure table about machines, under load', { skip: WITHOUT_POSTGRES }, async (t) => {
  const stage = await drillFleetStage(t)
  for (const scenario of FLEET_SCENARIOS.filter(({ row }) => !row.startsWith('database-'))) {
    const { complaints, served } = await playFleetScenario(stage, scenario, SLACK)
    t.strictSame(complaints, [], `${scenario.id}: ${scenario.name}`)
    t.ok(served > 0, 'there was load')
  }
})
