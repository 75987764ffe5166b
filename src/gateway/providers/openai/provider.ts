/** Any server that speaks the chat completions of OpenAI. */
import type { ChatEvent, Completion } from '../../formats/canonical.js'
import type { StreamFormat } from '../http/provider-exchange.js'
import { type HeaderPairs, ProviderServer, type ServerOptions } from '../http/server.js'
import type { Provider } from '../port/provider.js'
import { openAiSpeech, openAiTranscription } from './audio.js'
import { ChunkReader, isDone } from './chunk-reader.js'
import { completionEvents, parseCompletion } from './completion.js'
import { buildChatBody } from './request.js'

export type OpenAiOptions = ServerOptions

const PATH = '/chat/completions'

const COMPLETION = { parse: parseCompletion, missing: 'a body without choices' }

const CHUNKS: StreamFormat<ChatEvent, Completion> = {
  createReader: (generationId, emit) => new ChunkReader(generationId, emit),
  isTerminator: isDone,
  document: COMPLETION,
  eventsOf: completionEvents,
}

/** A provider that serves every model of one server. Throws a RangeError for a header it must not send. */
export function openAiProvider(options: OpenAiOptions): Provider {
  const credential: HeaderPairs =
    options.apiKey === null ? [] : [['authorization', `Bearer ${options.apiKey}`]]
  const server = new ProviderServer(options, credential)
  const streamChat = server.streamOperation(PATH, CHUNKS)
  const completeChat = server.documentOperation(PATH, COMPLETION)
  return {
    stream: (call, receiver) => streamChat(buildChatBody(call, true), call, receiver),
    complete: (call, receiver) => completeChat(buildChatBody(call, false), call, receiver),
    speech: openAiSpeech(server),
    transcription: openAiTranscription(server),
  }
}
