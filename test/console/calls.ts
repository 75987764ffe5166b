/** Calls that journeys through the console make, and how the API lists them. */
import { API_KEY, MANAGEMENT_KEY } from '../support/servers/server-process.js'

export async function ask(url: string, model: string, session?: string, key = API_KEY): Promise<Response> {
  const answer = await fetch(`${url}/api/v1/chat/completions`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({
      ...{ model, max_tokens: 4, messages: [{ role: 'user', content: 'hello' }] },
      ...(session && { session_id: session }),
    }),
  })
  await answer.arrayBuffer()
  return answer
}

export async function listed(url: string, query = ''): Promise<readonly { id: string; model: string }[]> {
  const answer = await fetch(`${url}/api/v1/generations${query}`, {
    headers: { Authorization: `Bearer ${MANAGEMENT_KEY}` },
  })
  return ((await answer.json()) as { data: { id: string; model: string }[] }).data
}
