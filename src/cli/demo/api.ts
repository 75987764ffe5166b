/** The public operations of the demo's own server. */
import { failCommand } from '../command.js'

export interface Api {
  /** Sends a value as JSON, or a form; with `''` without a key. Whatever the answer is. */
  send(method: string, path: string, key: string, body?: unknown): Promise<Response>
  /** The same for what must succeed: the answer as JSON. */
  make(method: string, path: string, key: string, body?: unknown): Promise<Made>
}

export interface Made {
  readonly data: Readonly<Record<string, string>>
  readonly key?: string
  readonly token?: string
  readonly id?: string
  readonly access_token?: string
}

export function apiOf(url: string, signal: AbortSignal): Api {
  const send = (method: string, path: string, key: string, body?: unknown): Promise<Response> => {
    const isForm = body instanceof FormData || body instanceof URLSearchParams
    const headers = {
      ...(key !== '' && { Authorization: `Bearer ${key}` }),
      ...(body !== undefined && !isForm && { 'Content-Type': 'application/json' }),
    }
    const sent = isForm ? body : JSON.stringify(body)
    return fetch(`${url}/api/v1${path}`, {
      method,
      headers,
      signal,
      ...(body !== undefined && { body: sent! }),
    })
  }
  return {
    send,
    make: async (method, path, key, body) => {
      const answer = await send(method, path, key, body)
      const text = await answer.text()
      if (!answer.ok)
        failCommand(`${method} ${path} was answered with ${answer.status}: ${text.slice(0, 500)}`)
      return JSON.parse(text) as Made
    },
  }
}
