/**
 * What is to be cached, in the words of the messages format (contract/gateway 2.1, 2.3): a part that is marked with
 * `prompt_cache_breakpoint` has `cache_control` there.
 */
import type {
  CacheControl,
  ChatMessage,
  ChatRequest,
  ContentPart,
  PromptCacheOptions,
} from '../../formats/canonical.js'
import type { Translation } from '../translation.js'

/** Most marks that servers take in one request; OpenAI writes as many, the latest ones. */
const MOST_MARKS = 4

/** `cache_control` of the request as a whole; with `mode: explicit` nothing but what is marked is to be cached. */
export function toRequestMark(
  { cache_control, prompt_cache_options: options }: ChatRequest,
  translation: Translation,
): CacheControl | undefined {
  if (options?.mode === 'explicit') {
    if (cache_control !== undefined) translation.drop('cache_control')
    return undefined
  }
  return cache_control ?? (options?.mode === 'implicit' ? toMark(options, translation) : undefined)
}

/** The messages with every mark as `cache_control`; themselves where none is of the other kind. */
export function withCacheControls(
  { messages, tools = [], cache_control, prompt_cache_options: options }: ChatRequest,
  translation: Translation,
): readonly ChatMessage[] {
  const parts = messages.flatMap(({ content }): readonly ContentPart[] =>
    Array.isArray(content) ? content : [],
  )
  const breakpoints = parts.filter(isMarked)
  if (breakpoints.length === 0) {
    if (options?.ttl && (cache_control !== undefined || options.mode !== 'implicit'))
      translation.drop('prompt_cache_options.ttl')
    return messages
  }
  const mark = toMark(options, translation)
  const others = [...tools, ...parts.filter((part) => !isMarked(part))].filter(
    (one) => one.cache_control,
  ).length
  // The wish for the request as a whole is one more.
  const isWhole =
    options?.mode === 'implicit' || (cache_control !== undefined && options?.mode !== 'explicit')
  const room = Math.max(0, MOST_MARKS - others - (isWhole ? 1 : 0))
  const kept = new Set(breakpoints.slice(Math.max(0, breakpoints.length - room)))
  if (kept.size < breakpoints.length) translation.drop('messages.prompt_cache_breakpoint')
  const toPart = (part: ContentPart): ContentPart => {
    if (!isMarked(part)) return part
    const { prompt_cache_breakpoint: _, cache_control, ...rest } = part
    return kept.has(part) ? { ...rest, cache_control: cache_control ?? mark } : rest
  }
  return messages.map((message) => {
    const { content } = message
    return Array.isArray(content) ? ({ ...message, content: content.map(toPart) } as ChatMessage) : message
  })
}

function isMarked(part: ContentPart): boolean {
  return part.prompt_cache_breakpoint !== undefined && part.prompt_cache_breakpoint !== null
}

/** A mark that is kept as long as the request says, where the format has a word for that. */
function toMark(options: PromptCacheOptions | null | undefined, translation: Translation): CacheControl {
  const ttl = options?.ttl ?? undefined
  if (ttl === '5m' || ttl === '1h') return { type: 'ephemeral', ttl }
  if (ttl !== undefined) translation.drop('prompt_cache_options.ttl')
  return { type: 'ephemeral' }
}
