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
  const [, name, digits] = text === '' ? [] : (FAULT.exec(text) ?? [])
  const n = Number(digits)
  if (name === 'error' && n >= 400 && n <= 599) return { status: n, delayMs: 0, cutAt: null }
  if (name === 'delay') return { status: 0, delayMs: n, cutAt: null }
  return name === 'cut' ? { status: 0, delayMs: 0, cutAt: n } : null
}

/**
 * When the generator says that the call was due or sent, in milliseconds on the shared clock; null where it does
 * not.
 */
export function readSendingTime(call: HttpCall, header: 'x-lab-due' | 'x-lab-sent'): number | null {
  const text = call.header(header)
  return /^[0-9]{1,19}$/.test(text) ? Number(text) / NS_PER_MS : null
}
