/** Streams of the mock's models under a gateway, so many at a time, each checked to its last event. */
import type { ExpectedStream } from '../../harness/sse/checked-stream.js'
import {
  CheckedStreamFigures,
  type CheckedStreamsPlan,
  checkedStreamLoop,
} from '../../harness/sse/checked-streams.js'
import { type CallTarget, callBytes, SLUICE_CHAT } from '../../performance/gateway/calls.js'
import { mockModel, tagOf } from '../../performance/gateway/mock-models.js'

interface StreamLoadSettings extends Omit<CheckedStreamsPlan, 'port' | 'request' | 'expected'> {
  /** Our chat endpoint unless it says. */
  readonly to?: CallTarget
  readonly model: string
}

/** Resolves when the last stream has ended. */
export async function runStreams(port: number, settings: StreamLoadSettings): Promise<CheckedStreamFigures> {
  const { to = SLUICE_CHAT, model, ...plan } = settings
  const figures = new CheckedStreamFigures()
  const expected = (index: number): ExpectedStream => expectedStream(model, index)
  const request = (index: number) => callBytes(to, model, expected(index).tag)
  await checkedStreamLoop({ ...plan, port, request, expected }, figures).run()
  return figures
}

/** What a stream of a model has to hold for request `number`. */
export function expectedStream(model: string, number: number): ExpectedStream {
  const plan = mockModel(model)
  if (plan === null) throw new Error(`${model} is no model of the mock`)
  return { tokens: plan.tokens, tag: plan.tagged ? tagOf(number) : '' }
}
