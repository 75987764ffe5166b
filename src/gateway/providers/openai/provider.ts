/** Any server that speaks the chat completions of OpenAI. */
import { Fault } from '../../../base/fault.js'
import { refuseAccountReference } from '../http/account-references.js'
import { type RequestTemplate, requestTemplate, type ServerOptions, secretsIn } from '../http/server.js'
import type { FailureSource } from '../port/failure.js'
import type {
  CallHandle,
  CompletionReceiver,
  Provider,
  ProviderCall,
  SpeechApi,
  StreamReceiver,
  TranscriptionApi,
} from '../port/provider.js'
import { rejectCall } from '../port/rejected-call.js'
import { openAiSpeech, openAiTranscription } from './audio.js'
import { buildChatBody, type WireObject } from './request.js'
import { StreamedAnswer } from './streamed-answer.js'
import { WholeAnswer } from './whole-answer.js'

export type OpenAiOptions = ServerOptions

/** A provider that serves every model of one server. Throws a RangeError for a header it must not send. */
export function openAiProvider(options: OpenAiOptions): Provider {
  return new OpenAiProvider(options)
}

const PATH = '/chat/completions'

class OpenAiProvider implements Provider {
  private readonly secrets: readonly string[]
  private readonly streaming: RequestTemplate
  private readonly whole: RequestTemplate
  readonly speech: SpeechApi
  readonly transcription: TranscriptionApi

  constructor(private readonly options: OpenAiOptions) {
    const own: [string, string][] =
      options.apiKey === null ? [] : [['authorization', `Bearer ${options.apiKey}`]]
    this.secrets = secretsIn(options)
    this.streaming = requestTemplate(options, PATH, 'text/event-stream', own)
    this.whole = requestTemplate(options, PATH, 'application/json', own)
    const sourceOf = (call: { readonly endpoint: ProviderCall['endpoint'] }): FailureSource =>
      this.source(call)
    this.speech = openAiSpeech(options, own, sourceOf)
    this.transcription = openAiTranscription(options, own, sourceOf)
  }

  stream(call: ProviderCall, receiver: StreamReceiver): CallHandle {
    const body = bodyOf(call, true)
    if (body instanceof Fault) return rejectCall(body, receiver)
    const echo = call.request.debug?.echo_upstream_body === true ? body.sent : undefined
    const exchange = new StreamedAnswer(this.source(call), call.generationId, receiver, echo)
    return exchange.begin(this.options.upstream, {
      ...this.streaming,
      body: body.text,
      deadlineAt: call.deadlineAt,
    })
  }

  complete(call: ProviderCall, receiver: CompletionReceiver): CallHandle {
    const body = bodyOf(call, false)
    if (body instanceof Fault) return rejectCall(body, receiver)
    const exchange = new WholeAnswer(this.source(call), call.generationId, receiver)
    return exchange.begin(this.options.upstream, {
      ...this.whole,
      body: body.text,
      deadlineAt: call.deadlineAt,
    })
  }

  private source(call: { readonly endpoint: ProviderCall['endpoint'] }): FailureSource {
    return { name: call.endpoint.provider.name, secrets: this.secrets }
  }
}

/**
 * The body and its text; a fault when it names what lies in the account at the provider, or cannot be written, which
 * validation should have seen.
 */
function bodyOf(
  call: ProviderCall,
  stream: boolean,
): { readonly sent: WireObject; readonly text: string } | Fault {
  try {
    const sent = buildChatBody(call, stream)
    return refuseAccountReference(sent) ?? { sent, text: JSON.stringify(sent) }
  } catch (cause) {
    return new Fault('internal', { detail: 'a request that cannot be written', cause })
  }
}
