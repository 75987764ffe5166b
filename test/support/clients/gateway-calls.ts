/** Chat inferences of a gateway, as its operation begins them. */

import { NEVER_ABORTED } from '../../../src/base/cancellation.js'
import type { MaybePromise } from '../../../src/base/maybe-promise.js'
import type { ChatEvent, ChatRequest } from '../../../src/gateway/formats/canonical.js'
import type { Gateway, Inference, StreamListener } from '../../../src/gateway/gateway.js'
import { chatFormat } from '../../../src/gateway/metering/format.js'
import type { CallHandle } from '../../../src/gateway/providers/port/provider.js'
import type { Generation } from '../../../src/gateway/run/generation.js'
import { CALLER } from '../providers/scripted-provider.js'

export const REQUEST: ChatRequest = { model: 'acme/one', messages: [{ role: 'user', content: 'hello' }] }

/** The inference that a caller asks for; `more` changes it. */
export function inferenceOf(more: Partial<Inference<ChatRequest>> = {}): Inference<ChatRequest> {
  return { request: REQUEST, caller: CALLER, simulate: '', traceparent: '', ...more }
}

/** A caller that may stop waiting. */
export class Waiter {
  leave: () => void = () => {}
  onAbort(abort: () => void): void {
    this.leave = abort
  }
}

export function completeChat(gateway: Gateway, inference = inferenceOf(), waiter = NEVER_ABORTED) {
  const generation = prepareChat(gateway, inference)
  return gateway.complete(chatFormat, generation, waiter, (result) => ({ ...result, generation }))
}

export function streamChat(
  gateway: Gateway,
  listener: StreamListener<ChatRequest, ChatEvent>,
  inference = inferenceOf(),
): { readonly generation: Generation; readonly flow: CallHandle } {
  const generation = prepareChat(gateway, inference)
  return { generation, flow: gateway.stream(chatFormat, generation, listener) }
}

export function prepareChat(gateway: Gateway, inference: Inference<ChatRequest>): Generation {
  return atOnce(gateway.prepare(chatFormat, inference, { arrivedAt: performance.now() }))
}

/** What is to be at hand, and no promise: an error where it is one. */
export function atOnce<T>(value: MaybePromise<T>): T {
  if (value instanceof Promise) throw new Error('a promise, where a value has to be at hand')
  return value
}
