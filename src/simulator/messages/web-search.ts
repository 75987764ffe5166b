/** A search of the web that nobody made. */
import type { ContentBlock, MessagesRequest } from '../../gateway/formats/messages.js'
import { randomAlphanumerics } from '../answer/letters.js'
import { type RandomSeed, SeededRandom } from '../random.js'

interface SimulatedWebSearch {
  /** The call and its result. */
  readonly blocks: readonly ContentBlock[]
  readonly citation: ContentBlock
}

const LANE_OF_SEARCHES = 102
const ID_LETTERS = 24
const LONGEST_QUERY = 60

/** Two pages that exist nowhere, found by what the user said last. */
export function simulateWebSearch({ messages }: MessagesRequest, seed: RandomSeed): SimulatedWebSearch {
  const random = new SeededRandom(seed, LANE_OF_SEARCHES)
  const id = `srvtoolu_${randomAlphanumerics(random, ID_LETTERS)}`
  const query = searchQueryOf(messages.findLast(({ role }) => role === 'user')?.content ?? '')
  const results = [1, 2].map((number) => ({
    type: 'web_search_result',
    url: `https://example.com/simulated/${randomAlphanumerics(random, 8)}`,
    title: `Simulated result ${number}`,
    encrypted_content: Buffer.from(randomAlphanumerics(random, ID_LETTERS)).toString('base64'),
    page_age: null,
  }))
  const { url, title, encrypted_content } = results[0]!
  return {
    blocks: [
      { type: 'server_tool_use', id, name: 'web_search', input: { query }, caller: { type: 'direct' } },
      { type: 'web_search_tool_result', tool_use_id: id, caller: { type: 'direct' }, content: results },
    ],
    citation: {
      type: 'web_search_result_location',
      cited_text: `What ${title.toLowerCase()} says.`,
      url,
      title,
      encrypted_index: encrypted_content,
    },
  }
}

function searchQueryOf(content: string | readonly ContentBlock[]): string {
  const text =
    typeof content === 'string'
      ? content
      : content.map(({ text }) => (typeof text === 'string' ? text : '')).join(' ')
  return text.slice(0, LONGEST_QUERY).toWellFormed().trim() || 'news'
}
