/** Any server that speaks the chat completions of OpenAI. */
import type { ChatEvent, Completion } from '../../formats/canonical.js'
import type { StreamFormat } from '../http/provider-exchange.js'
import { type HeaderPairs, ProviderServer, type RequestTemplate, type ServerOptions } from '../http/server.js'
import type {
  CallHandle,
  CompletionReceiver,
  Provider,
  ProviderCall,
  SpeechApi,
  StreamReceiver,
  TranscriptionApi,
} from '../port/provider.js'
import { openAiSpeech, openAiTranscription } from './audio.js'
import { ChunkReader, isDone } from './chunk-reader.js'
import { completionEvents, parseCompletion } from './completion.js'
import { buildChatBody } from './request.js'

export type OpenAiOptions = ServerOptions

/** A provider that serves every model of one server. Throws a RangeError for a header it must not send. */
export function openAiProvider(options: OpenAiOptions): Provider {
  return new OpenAiProvider(options)
}

const PATH = '/chat/completions'

const COMPLETION = { parse: parseCompletion, missing: 'a body without choices' }

const CHUNKS: StreamFormat<ChatEvent, Completion> = {
  createReader: (generationId, emit) => new ChunkReader(generationId, emit),
  isTerminator: isDone,
  document: COMPLETION,
  eventsOf: completionEvents,
}

class OpenAiProvider implements Provider {
  readonly speech: SpeechApi
  readonly transcription: TranscriptionApi
  readonly #server: ProviderServer
  readonly #streamed: RequestTemplate
  readonly #whole: RequestTemplate

  constructor(options: OpenAiOptions) {
    const credential: HeaderPairs =
      options.apiKey === null ? [] : [['authorization', `Bearer ${options.apiKey}`]]
    this.#server = new ProviderServer(options, credential)
    this.#streamed = this.#server.template(PATH, 'text/event-stream')
    this.#whole = this.#server.template(PATH, 'application/json')
    this.speech = openAiSpeech(this.#server)
    this.transcription = openAiTranscription(this.#server)
  }

  stream(call: ProviderCall, receiver: StreamReceiver): CallHandle {
    return this.#server.stream(CHUNKS, this.#streamed, buildChatBody(call, true), call, receiver)
  }

  complete(call: ProviderCall, receiver: CompletionReceiver): CallHandle {
    return this.#server.complete(COMPLETION, this.#whole, buildChatBody(call, false), call, receiver)
  }
}
