/** What servers of ours that speak a real service's documented wire have in common: they refuse what it does not list. */
import { sentForm } from '../clients/sent-form.js'
import type { MockRequest, Peer } from './mock-upstream.js'

/** What is wrong with a request, as the service would say it. */
export class WireRefusal extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message)
  }
}

/** Whether a value is one that a member may have. */
export type Rule = (value: unknown) => boolean

export const isText: Rule = (value) => typeof value === 'string' && value !== ''
export const isFlag: Rule = (value) => typeof value === 'boolean'
export const isFlagText: Rule = (value) => value === 'true' || value === 'false'
export const isTextList: Rule = (value) => Array.isArray(value) && value.length > 0 && value.every(isText)
export const oneOf =
  (...values: readonly unknown[]): Rule =>
  (value) =>
    values.includes(value)
export const within =
  (least: number, most: number): Rule =>
  (value) => {
    const number = typeof value === 'string' && value !== '' ? Number(value) : value
    return typeof number === 'number' && number >= least && number <= most
  }

/** Throws for a member that is not listed, or whose value breaks its rule. */
export function requireListed(
  members: Iterable<readonly [string, unknown]>,
  rules: Readonly<Record<string, Rule>>,
  status: number,
): void {
  for (const [name, value] of members) {
    if (!Object.hasOwn(rules, name)) throw new WireRefusal(status, 'unknown', `${name} is not a member`)
    if (!rules[name]!(value)) throw new WireRefusal(status, 'invalid', `${name} has a wrong value`)
  }
}

/** Throws unless the header is there and says just this. */
export function requireHeader({ headers }: MockRequest, name: string, value: string, status = 400): void {
  if (headers[name] !== value) throw new WireRefusal(status, 'header', `${name} must be ${value}`)
}

export function jsonMembers(request: MockRequest): Record<string, unknown> {
  requireHeader(request, 'content-type', 'application/json')
  return JSON.parse(request.body)
}

/** Fields of a form by name, in the order in which they came, and its file. */
export function formMembers(request: MockRequest): { fields: [string, string][]; file: string | null } {
  if (!/^multipart\/form-data; boundary=\S+$/.test(request.headers['content-type'] ?? ''))
    throw new WireRefusal(400, 'header', 'content-type must be that of a form')
  return sentForm(request)
}

/** A script that answers, or refuses in the service's own form. */
export function strictly(
  answer: (peer: Peer, request: MockRequest, url: URL) => void,
  refuse: (peer: Peer, refusal: WireRefusal) => void,
): (peer: Peer, request: MockRequest) => void {
  return (peer, request) => {
    try {
      answer(peer, request, new URL(request.path, 'http://service'))
    } catch (error) {
      if (!(error instanceof WireRefusal)) throw error
      refuse(peer, error)
    }
  }
}
