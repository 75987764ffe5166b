import type { HttpCall } from '../../transport/exchange.js'

/** Headers that the lab reads, only while faults are switched on: otherwise no route copies them. */
export const LAB_HEADERS = ['x-lab-run', 'x-lab-due', 'x-lab-sent', 'x-lab-echo', 'x-lab-fault'] as const

const NS_PER_MS = 1e6

/** What a call asks for itself. */
export interface RequestedFault {
  /** Status of an error to answer with; 0 for none. */
  readonly status: number
  readonly delayMs: number
  /** Tokens after which the stream is cut; null for none. */
  readonly cutAt: number | null
}

const FAULT = /^(error|delay|cut)=([0-9]{1,6})$/

/** Null when the call asks for nothing, or for nothing that exists. */
export function parseRequestedFault(call: HttpCall): RequestedFault | null {
  const text = call.header('x-lab-fault')
  if (text === '') return null
  const match = FAULT.exec(text)
  if (match === null) return null
  const [, name] = match
  const n = Number(match[2])
  if (name === 'error') return n >= 400 && n <= 599 ? { status: n, delayMs: 0, cutAt: null } : null
  return name === 'delay' ? { status: 0, delayMs: n, cutAt: null } : { status: 0, delayMs: 0, cutAt: n }
}

/** Moments the generator told, in milliseconds on the shared clock; null where it told none. */
interface SendingTimes {
  readonly due: number | null
  readonly sent: number | null
}

export function parseSendingTimes(call: HttpCall): SendingTimes | null {
  const due = parseNanoseconds(call.header('x-lab-due'))
  const sent = parseNanoseconds(call.header('x-lab-sent'))
  return due === null && sent === null ? null : { due, sent }
}

function parseNanoseconds(text: string): number | null {
  return /^[0-9]{1,19}$/.test(text) ? Number(text) / NS_PER_MS : null
}
