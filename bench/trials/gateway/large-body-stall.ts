import { randomBytes } from 'node:crypto'
import { requestBytes } from '../../harness/http/requests.js'
import { RepeatedCall } from '../../performance/gateway/added-latency.js'
import { BARE_TARGET, type CallTarget, SLUICE_CHAT } from '../../performance/gateway/calls.js'
import { quietRounds, watchProcesses } from '../disturbance.js'
import { atMost, exactly, figure, over, type Trial, type TrialContext } from '../trial.js'
import { longestStall, streamsBeside } from './gateway-agent-conversation.js'
import { type GatewayStage, stageGateway } from './gateway-stage.js'

const MOCK = new URL('../../performance/gateway/mock-upstream.js', import.meta.url)
/** A mock of its own takes the large calls: it would hold up the streams of the other while it reads them. */
const MODEL = 'bench/json-tagged'
const PICTURES = 4
/** In base64 four of them stay a little below the most that a request may have, 20 MiB. */
const PICTURE_BYTES = Math.floor(3.7 * 2 ** 20)
const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

/** A chat call with pictures of together 20 MB in base64. */
function pictureCall(to: CallTarget): Buffer {
  const picture = (): object => {
    const url = `data:image/png;base64,${Buffer.concat([PNG, randomBytes(PICTURE_BYTES)]).toString('base64')}`
    return { type: 'image_url', image_url: { url } }
  }
  const content = [{ type: 'text', text: 'What is on these?' }, ...Array.from({ length: PICTURES }, picture)]
  const body = JSON.stringify({ model: MODEL, messages: [{ role: 'user', content }] })
  return requestBytes({ method: 'POST', route: to.path, path: to.path, headers: to.headers, body })
}

async function measureRound(
  stage: GatewayStage,
  upstream: { port: number; pid: number },
  context: TrialContext,
) {
  const endWatch = watchProcesses(context, stage.server.pids, [stage.mock.pid, upstream.pid])
  const alone = await streamsBeside(stage, null)
  // What the sending and the reading of such a call alone do to generator and mock.
  const direct = await streamsBeside(stage, new RepeatedCall(upstream.port, pictureCall(BARE_TARGET)))
  const through = await streamsBeside(stage, new RepeatedCall(stage.server.port, pictureCall(SLUICE_CHAT)))
  return {
    alone: longestStall(alone.streams),
    direct: longestStall(direct.streams),
    through: longestStall(through.streams),
    gapP99: through.streams.gap.quantile(0.99),
    failed: direct.failed + through.failed,
    incomplete: alone.streams.incomplete + direct.streams.incomplete + through.streams.incomplete,
    disturbed: endWatch(),
  }
}

export const largeBodyStall: Trial = {
  name: 'large-body-stall',
  summary: 'calls of 20 MB of pictures one after the other: no stream of others stalled over 50 ms',
  rounds: 3,
  roundLimitS: 240,
  pinned: true,
  run: async (context) => {
    const upstream = await context.staging.startHelper('generator', MOCK)
    const large = { name: 'large', baseUrl: `http://127.0.0.1:${upstream.port}/v1`, models: [MODEL] }
    const stage = await stageGateway(context, { extra: [large] })
    const { kept, figures, notes } = await quietRounds(
      context,
      () => measureRound(stage, upstream, context),
      ({ through, direct }) => `stall ${through.toFixed(1)} ms, ${direct.toFixed(1)} past the gateway`,
    )
    await stage.stop()
    upstream.end()
    const { median, max, sum } = over(kept)
    return {
      bars: [
        atMost('longest stall of another stream', median('through'), 50, 'ms'),
        exactly('large calls without an answer', sum('failed'), 0),
        exactly('incomplete streams', sum('incomplete'), 0),
      ],
      figures: [
        figure('longest stall of all rounds', max('through'), 'ms'),
        figure('gap of the streams beside, p99', median('gapP99'), 'ms'),
        figure('longest stall beside calls that go past the gateway', median('direct'), 'ms'),
        figure('longest stall of a stream with nobody beside it', median('alone'), 'ms'),
        ...figures,
      ],
      notes,
    }
  },
}
