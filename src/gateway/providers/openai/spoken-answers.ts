/**
 * Spoken answers are kept in the operator's account at the provider, and a conversation goes on with their ids. Every
 * caller shares that account, so an id goes out sealed: only the workspace it was given to can hand it back, and only
 * to the provider it came from (contract/decisions 46).
 */
import { Fault } from '../../../base/fault.js'
import type {
  AssistantMessage,
  ChatDelta,
  ChatEvent,
  ChatMessage,
  ChatRequest,
  Completion,
} from '../../formats/canonical.js'
import { nonEmptyText } from '../../formats/json-values.js'
import {
  type ChatApi,
  type CompletionReceiver,
  type ProviderCall,
  StreamAdapter,
  type StreamReceiver,
} from '../port/provider.js'

/** Ids in a form that nobody but their owner can make use of. */
export interface SealedIds {
  seal(id: string, owner: string): string
  /** Null when it was not sealed for this owner. */
  open(sealed: string, owner: string): string | null
}

type Owner = Pick<ProviderCall, 'caller' | 'endpoint'>

function ownerOf({ caller, endpoint }: Owner): string {
  // Of a caller's own account as well: an id of it means nothing to the operator's.
  const account = endpoint.own === undefined ? '' : `\n${endpoint.own.keyId}`
  return `${caller.organizationId}\n${caller.workspaceId ?? ''}\n${endpoint.provider.slug}${account}`
}

/** The chat of a provider, the ids of whose spoken answers go out sealed. */
export function withSealedAnswers(chat: ChatApi, ids: SealedIds): ChatApi {
  return {
    stream: (call, receiver) => {
      if (!isSpoken(call.request)) return chat.stream(call, receiver)
      const sealing = new SealingStream(receiver, (id) => ids.seal(id, ownerOf(call)))
      return sealing.attach(chat.stream(call, sealing))
    },
    complete: (call, receiver) =>
      chat.complete(call, isSpoken(call.request) ? sealingReceiver(call, receiver, ids) : receiver),
  }
}

function isSpoken({ modalities }: ChatRequest): boolean {
  return modalities?.includes('audio') === true
}

function sealAudio<T extends AssistantMessage | ChatDelta>(said: T, seal: (id: string) => string): T {
  const id = nonEmptyText(said.audio?.id)
  return id === undefined ? said : { ...said, audio: { ...said.audio, id: seal(id) } }
}

class SealingStream extends StreamAdapter<ChatEvent, ChatEvent> {
  readonly #seal: (id: string) => string
  /** Servers tell it with every piece, and clients take the same one for the same answer. */
  #id = ''
  #sealed = ''

  constructor(receiver: StreamReceiver<ChatEvent>, seal: (id: string) => string) {
    super(receiver)
    this.#seal = (id) => {
      if (id !== this.#id) this.#sealed = seal(id)
      this.#id = id
      return this.#sealed
    }
  }

  onEvent(event: ChatEvent): void {
    this.emit(event.type === 'delta' ? { ...event, delta: sealAudio(event.delta, this.#seal) } : event)
  }
}

function sealingReceiver(
  call: ProviderCall,
  receiver: CompletionReceiver,
  ids: SealedIds,
): CompletionReceiver {
  return {
    onEnd: (completion: Completion) => {
      const choices = completion.choices.map((choice) => {
        return { ...choice, message: sealAudio(choice.message, (id) => ids.seal(id, ownerOf(call))) }
      })
      receiver.onEnd({ ...completion, choices })
    },
    onFailure: (failure) => receiver.onFailure(failure),
  }
}

/**
 * The messages with the provider's own ids of spoken answers. One that was not given to this workspace by this provider
 * is replaced by what was said, where the caller hands that back as well; else it is the fault of the request.
 */
export function openSpokenAnswers(call: ProviderCall, ids: SealedIds | null): readonly ChatMessage[] | Fault {
  const { messages } = call.request
  if (!messages.some(isSpokenAnswer)) return messages
  const opened: ChatMessage[] = []
  for (const [at, message] of messages.entries()) {
    const next = isSpokenAnswer(message) ? openAnswer(message, call, ids) : message
    if (next === null)
      return new Fault('bad-request', {
        note: `messages.${at}.audio.id is none that this provider has given to this workspace`,
        metadata: { error_type: 'invalid_request' },
      })
    opened.push(next)
  }
  return opened
}

type SpokenAnswer = ChatMessage & { readonly role: 'assistant' }

function isSpokenAnswer(message: ChatMessage): message is SpokenAnswer {
  return message.role === 'assistant' && message.audio?.id !== undefined
}

function openAnswer(message: SpokenAnswer, call: ProviderCall, ids: SealedIds | null): SpokenAnswer | null {
  const { audio, ...rest } = message
  const id = ids?.open(String(audio?.id), ownerOf(call)) ?? null
  if (id !== null) return { ...rest, audio: { id } }
  const transcript = nonEmptyText(audio?.transcript)
  if (transcript === undefined) return null
  if (!call.droppedFields.includes('messages.audio')) call.droppedFields.push('messages.audio')
  return { ...rest, content: rest.content?.length ? rest.content : transcript }
}
