/** Any server that speaks the chat completions of OpenAI. */
import { Fault } from '../../../base/fault.js'
import { accountReference } from '../http/account-references.js'
import { type RequestTemplate, type ServerOptions, secretsOf, template } from '../http/server.js'
import { failingLater } from '../port/failing-later.js'
import type { Source } from '../port/failure.js'
import type {
  CompletionReceiver,
  Flow,
  Provider,
  ProviderCall,
  SpeechFace,
  StreamReceiver,
  TranscriptionFace,
} from '../port/provider.js'
import { openAiSpeech, openAiTranscription } from './audio.js'
import { requestBody, type WireObject } from './request.js'
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
  readonly speech: SpeechFace
  readonly transcription: TranscriptionFace

  constructor(private readonly options: OpenAiOptions) {
    const own: [string, string][] =
      options.apiKey === null ? [] : [['authorization', `Bearer ${options.apiKey}`]]
    this.secrets = secretsOf(options)
    this.streaming = template(options, PATH, 'text/event-stream', own)
    this.whole = template(options, PATH, 'application/json', own)
    const sourceOf = (call: { readonly endpoint: ProviderCall['endpoint'] }): Source => this.source(call)
    this.speech = openAiSpeech(options, own, sourceOf)
    this.transcription = openAiTranscription(options, own, sourceOf)
  }

  stream(call: ProviderCall, receiver: StreamReceiver): Flow {
    const body = bodyOf(call, true)
    if (body instanceof Fault) return failingLater(body, receiver)
    const echo = call.request.debug?.echo_upstream_body === true ? body.sent : undefined
    const exchange = new StreamedAnswer(this.source(call), call.generationId, receiver, echo)
    return exchange.begin(this.options.upstream, {
      ...this.streaming,
      body: body.text,
      deadlineAt: call.deadlineAt,
    })
  }

  complete(call: ProviderCall, receiver: CompletionReceiver): Flow {
    const body = bodyOf(call, false)
    if (body instanceof Fault) return failingLater(body, receiver)
    const exchange = new WholeAnswer(this.source(call), call.generationId, receiver)
    return exchange.begin(this.options.upstream, {
      ...this.whole,
      body: body.text,
      deadlineAt: call.deadlineAt,
    })
  }

  private source(call: { readonly endpoint: ProviderCall['endpoint'] }): Source {
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
    const sent = requestBody(call, stream)
    return accountReference(sent) ?? { sent, text: JSON.stringify(sent) }
  } catch (cause) {
    return new Fault('internal', { detail: 'a request that cannot be written', cause })
  }
}
