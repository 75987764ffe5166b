/** Any server that speaks the messages format of Anthropic: messages as they are, chat by translation. */
import { Fault } from '../../../base/fault.js'
import { asList, type JsonObject, UsageReader } from '../../formats/json-values.js'
import type {
  ContentBlock,
  MessagesAnswer,
  MessagesEvent,
  MessagesMessage,
  MessagesRequest,
} from '../../formats/messages.js'
import { chatOverMessages } from '../../translation/chat-over-messages.js'
import { isForeignCitation } from '../../translation/citations.js'
import { isForeignThinking } from '../../translation/sealed-reasoning.js'
import { accountFiles } from '../http/account-files.js'
import type { StreamFormat } from '../http/answer-format.js'
import { MediaRoom } from '../http/media-room.js'
import { addExtraMembers, ProviderServer, type ServerOptions, type WireObject } from '../http/server.js'
import type { MessagesApi, Provider, ProviderCall } from '../port/provider.js'
import { withManagedBreakpoints } from './cache-breakpoints.js'
import { type KeepFile, withKeptFiles } from './created-files.js'
import { ANTHROPIC_FILES } from './files.js'
import { MESSAGE_MEDIA } from './message-media.js'
import { answerEvents, isMessageStop, MessageEventReader, parseMessage } from './message-reader.js'
import { writePlainBody } from './plain-body.js'

/** The version of the format; another one, and betas, are headers of the operator's. */
const VERSION = '2023-06-01'
const PATH = '/v1/messages'

const MESSAGE = { parse: parseMessage, missing: 'a body that is no message' }

const MESSAGE_EVENTS: StreamFormat<MessagesEvent, MessagesAnswer> = {
  createReader: (_, emit) => new MessageEventReader(emit),
  isTerminator: isMessageStop,
  document: MESSAGE,
  eventsOf: answerEvents,
}

/** contract/gateway 5.9 */
const TOKEN_COUNT = {
  parse: (body: JsonObject): number | null => new UsageReader().tokens(body.input_tokens) ?? null,
  missing: 'a body without input_tokens',
}

const CALLER_GONE = new Fault('unavailable', { detail: 'the caller left while tokens were counted' })

type MessagesCall = ProviderCall<MessagesRequest>

interface AnthropicOptions extends ServerOptions {
  /** For files that the server makes; without it its ids of them are left out of answers all the same. */
  readonly keepFile?: KeepFile
}

const KEEPS_NOTHING: KeepFile = () => Promise.reject(new Fault('unavailable'))

/**
 * A provider that serves every model of one server; `baseUrl` goes up to and without `/v1/messages`. Throws a
 * RangeError for a header it must not send.
 */
export function anthropicProvider(options: AnthropicOptions): Provider {
  const credential: [string, string][] = options.apiKey === null ? [] : [['x-api-key', options.apiKey]]
  const server = new ProviderServer(options, [['anthropic-version', VERSION], ...credential], MESSAGE_MEDIA)
  const count = server.documentOperation(`${PATH}/count_tokens`, TOKEN_COUNT, buildCountBody)
  const build = (stream: boolean) => (call: MessagesCall) =>
    writePlainBody(call, stream) ?? buildMessagesBody(call, stream)
  const asAnswered: MessagesApi = {
    stream: server.streamOperation(PATH, MESSAGE_EVENTS, build(true)),
    complete: server.documentOperation(PATH, MESSAGE, build(false)),
  }
  const messages = withKeptFiles(
    asAnswered,
    server,
    options.keepFile ?? KEEPS_NOTHING,
    options.media?.room ?? new MediaRoom(),
  )
  return {
    ...chatOverMessages(messages),
    messages,
    files: accountFiles(server, ANTHROPIC_FILES),
    runsNativeTools: true,
    countMessages: (call, caller) =>
      new Promise((resolve) => {
        const handle = count(call, { onEnd: resolve, onFailure: ({ fault }) => resolve(fault) })
        caller.onAbort(() => {
          handle.cancel()
          resolve(CALLER_GONE)
        })
      }),
  }
}

// ── The body of a call ───────────────────────────────────────────────────────
// The caller's request with the fewest edits, built from an allow-list so that a member which is meant for the
// gateway alone, or names a person or a session, cannot slip through (contract/gateway 5.1).

/** What a count of tokens takes of a request as it is. */
const COUNTED = [
  'system',
  'tools',
  'tool_choice',
  'thinking',
  'output_config',
  'context_management',
  'cache_control',
] as const satisfies readonly (keyof MessagesRequest)[]
const COUNTED_MEMBERS: ReadonlySet<string> = new Set(COUNTED)

/**
 * Members that go as they are, unless null. Absent on purpose, because the gateway acts on them: `provider`,
 * `route`, `models`, `plugins`, `stop_server_tools_when`, `debug`; because they identify: `user`, `session_id`,
 * `trace`; because they are built below: `model`, `stream`, `metadata`, `service_tier`, `speed`.
 */
const FORWARDED_MEMBERS: ReadonlySet<string> = new Set([
  ...COUNTED,
  'max_tokens',
  'temperature',
  'top_p',
  'top_k',
  'stop_sequences',
  'compaction',
  'container',
  'inference_geo',
  'safeguards',
] as const satisfies readonly (keyof MessagesRequest)[])

/** The body for a call. Names what is left out in `call.droppedFields`. */
export function buildMessagesBody(call: MessagesCall, stream: boolean): WireObject {
  const { request, endUser, serviceTier } = call
  const body = copyMembers(call, FORWARDED_MEMBERS)
  body.stream = stream
  body.metadata = { user_id: endUser }
  // The default, and a word that servers without the faster one do not know.
  if (request.speed === 'fast') body.speed = 'fast'
  addExtraMembers(body, request)
  const tier = serviceTierName(serviceTier)
  if (tier !== null) body.service_tier = tier
  else if (serviceTier !== undefined) dropField(call, 'service_tier')
  return withManagedBreakpoints(body)
}

/** The body of a count. */
export function buildCountBody(call: MessagesCall): WireObject {
  return copyMembers(call, COUNTED_MEMBERS)
}

function copyMembers(call: MessagesCall, names: ReadonlySet<string>): WireObject {
  const { request, endpoint } = call
  const body: WireObject = { model: endpoint.upstreamModel, messages: withoutForeignWords(call) }
  for (const name in request) {
    if (!names.has(name)) continue
    const value = request[name as keyof MessagesRequest]
    if (value !== undefined && value !== null) body[name] = value
  }
  return body
}

function dropField({ droppedFields: lost }: MessagesCall, field: string): void {
  if (!lost.includes(field)) lost.push(field)
}

/** The two words the format has; chat's word for no preference in favour of speed is one of them. */
function serviceTierName(tier: string | undefined): string | null {
  if (tier === 'auto' || tier === 'standard_only') return tier
  return tier === 'default' ? 'standard_only' : null
}

// ── Messages ────────────────────────────────────────────────────────────────

/**
 * Thinking that another provider wrote is left out: its place for a signature holds none, and the server would
 * refuse the whole request. So are citations of another provider's searches, whose index is none.
 */
function withoutForeignWords(call: MessagesCall): readonly MessagesMessage[] {
  const { messages } = call.request
  if (!messages.some(hasForeignWords)) return messages
  return messages.flatMap((message) => {
    if (!hasForeignWords(message)) return [message]
    const content = (message.content as readonly ContentBlock[]).flatMap((block) => {
      if (isForeignThinking(block)) {
        dropField(call, 'messages.thinking')
        return []
      }
      if (!hasForeignCitation(block)) return [block]
      dropField(call, 'messages.citations')
      const known = asList(block.citations).filter((citation) => !isForeignCitation(citation))
      return [{ ...block, citations: known.length === 0 ? null : known }]
    })
    return content.length === 0 ? [] : [{ ...message, content }]
  })
}

function hasForeignWords({ role, content }: MessagesMessage): boolean {
  if (role !== 'assistant' || typeof content === 'string') return false
  return content.some((block) => isForeignThinking(block) || hasForeignCitation(block))
}

function hasForeignCitation({ type, citations }: ContentBlock): boolean {
  return type === 'text' && asList(citations).some(isForeignCitation)
}
