/** What the start page tells of listeners beside the port of the API (contract/decisions 50). */
import { test } from 'tap'
import { startPorts } from '../../src/compose/start-page.js'

const LISTENING = 'http://127.0.0.1:8080'
const OWN = {
  practice: 'open',
  console: true,
  consoleListen: '',
  lab: '127.0.0.1:8081',
  metrics: '10.0.0.7:9090',
  publicUrl: '',
} as const

test('where the lab and the metrics are is told without a public URL, and where the place is known', async (t) => {
  t.match(startPorts(OWN, LISTENING), {
    baseUrl: LISTENING,
    labUrl: 'http://127.0.0.1:8081/lab',
    metricsUrl: 'http://10.0.0.7:9090/metrics',
  })
  const unknown = startPorts({ ...OWN, lab: '127.0.0.1:0', metrics: 'off' }, LISTENING)
  t.match(unknown, { labUrl: null, metricsUrl: null })
})

test('a public server names no address of its inner network', async (t) => {
  const publicUrl = 'https://models.example'
  t.match(startPorts({ ...OWN, publicUrl }, LISTENING), {
    baseUrl: publicUrl,
    labUrl: null,
    metricsUrl: null,
  })
  const together = startPorts({ ...OWN, publicUrl, metrics: 'on' }, LISTENING)
  t.equal(together.metricsUrl, `${publicUrl}/metrics`)
})
