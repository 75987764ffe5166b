/** A form as a provider of ours was sent it. */
import type { MockRequest } from '../providers/mock-upstream.js'

export interface SentForm {
  readonly fields: [string, string][]
  /** The bytes of the file, as text; null where there is none. */
  readonly file: string | null
}

/** Fields and the file of a form. */
export function sentForm({ headers, body }: Pick<MockRequest, 'headers' | 'body'>): SentForm {
  const boundary = /boundary=(\S+)/.exec(headers['content-type'] ?? '')?.[1]
  const fields: [string, string][] = []
  let file: string | null = null
  for (const part of body.split(`--${boundary}`).slice(1, -1)) {
    const [head = '', ...rest] = part.slice(2).split('\r\n\r\n')
    const value = rest.join('\r\n\r\n').slice(0, -2)
    const name = / name="([^"]*)"/.exec(head)?.[1] ?? ''
    if (head.includes('filename=')) file = value
    else fields.push([name, value])
  }
  return { fields, file }
}
