/** Which addresses stand in a conversation: a model that is talked into it can then carry nothing out in one it makes up. */
import type { ChatRequest } from '../formats/canonical.js'
import { contentText } from '../formats/content-parts.js'

const MOST_ADDRESSES = 10_000
const ADDRESS = /https?:\/\/[^\s"'<>\\^`{|}[\]()]+(?:\([^\s"'<>\\^`{|}[\]()]*\)[^\s"'<>\\^`{|}[\]()]*)*/gi

/** Addresses of the web in a text, without what follows a sentence, each once and in order. */
export function addressesIn(text: string, most = MOST_ADDRESSES): readonly string[] {
  const found = new Set<string>()
  for (const [match] of text.matchAll(ADDRESS)) {
    const url = normalised(match.replace(/[.,;:!?]+$/, ''))
    if (url !== null) found.add(url)
    if (found.size >= most) break
  }
  return [...found]
}

export class AddressBook {
  readonly #known: Set<string>
  /** Messages that were looked through: a conversation only grows. */
  #read = 0

  /** `texts`: the conversation as the caller sent it. */
  constructor(texts: readonly string[]) {
    this.#known = new Set(texts.flatMap((text) => addressesIn(text)))
  }

  /** Whether an address stands there, or in a result that a tool has given since. */
  has(url: string, { messages }: ChatRequest): boolean {
    const wanted = normalised(url)
    if (wanted === null || this.#known.has(wanted)) return wanted !== null
    const fresh = messages.slice(this.#read)
    this.#read = messages.length
    for (const { role, content } of fresh)
      if (role === 'tool') for (const address of addressesIn(contentText(content))) this.#known.add(address)
    return this.#known.has(wanted)
  }
}

/** Without what is never sent. */
function normalised(url: string): string | null {
  if (!URL.canParse(url)) return null
  const address = new URL(url)
  address.hash = ''
  return address.href
}
