/**
 * Schemas of the single settings. Each accepts the text of an environment variable as well as the value of a file.
 */

import { accessSync, constants, statSync } from 'node:fs'
import { z } from 'zod'
import { createTrustedProxies } from '../base/caller-address.js'
import { FIXED_KEY_PATTERN, FIXED_KEY_RULE } from '../base/fixed-key.js'
import { parseHostPort } from '../base/host-port.js'
import { parseDelayShape } from '../lab/delay-shape.js'

/** Between two inclusive bounds. */
export function integerBetween(min: number, max: number): z.ZodType<number> {
  const text = z
    .string()
    .regex(/^-?[0-9]+$/, 'must be an integer')
    .transform(Number)
  return z
    .union([z.number(), text], { error: 'must be an integer' })
    .refine((n) => Number.isInteger(n) && n >= min && n <= max, `must be an integer from ${min} to ${max}`)
    .meta({ minimum: min, maximum: max })
}

export function autoOrInteger(schema: z.ZodType<number>): z.ZodType<number | 'auto'> {
  return z.union([z.literal('auto'), schema], { error: 'must be "auto" or an integer of at least 1' })
}

export const nonEmptyText = z.string('must be text').min(1, 'must not be empty')

export const onOrOff = z.union(
  [
    z.boolean(),
    z.enum(['true', 'on', '1', 'false', 'off', '0']).transform((t) => ['true', 'on', '1'].includes(t)),
  ],
  { error: 'must be on or off' },
)

const list: z.ZodType<readonly string[]> = z.union(
  [
    z.array(z.string()),
    z.string().transform((t) =>
      t
        .split(',')
        .map((part) => part.trim())
        .filter((part) => part !== ''),
    ),
  ],
  { error: 'must be a list, or text with commas' },
)

export const addresses = list.refine(
  (entries) => succeeds(() => createTrustedProxies(entries)),
  'must hold addresses or CIDR ranges only',
)

/** Whether an attempt neither throws nor says no. */
function succeeds(attempt: () => unknown): boolean {
  try {
    return attempt() !== false
  } catch {
    return false
  }
}

export const readableFile = nonEmptyText.refine(
  (path) =>
    succeeds(() => {
      accessSync(path, constants.R_OK)
      return statSync(path).isFile()
    }),
  'must name a readable file',
)

export const metricsPlace = nonEmptyText.refine(
  (place) => isSwitch(place) || (parseHostPort(place)?.port ?? 0) > 0,
  'must be "on", "off" or host:port',
)

/** An address of its own; `''` for none. */
export const ownPlace = z
  .string()
  .refine((place) => place === '' || (parseHostPort(place)?.port ?? 0) > 0, 'must be host:port')

/** Where the lab listens that is just `on`. */
export const LAB_ADDRESS = '127.0.0.1:8081'

/** `off`, or where it listens. */
export const labPlace = nonEmptyText
  .refine((place) => isSwitch(place) || parseHostPort(place) !== null, 'must be "on", "off" or host:port')
  .transform((place) => (place === 'on' ? LAB_ADDRESS : place))

function isSwitch(place: string): boolean {
  return place === 'on' || place === 'off'
}

/** Whether an address to listen on is of this machine only. */
export function isLoopbackPlace(place: string): boolean {
  const host = parseHostPort(place)?.host ?? ''
  return host === 'localhost' || host === '::1' || /^127(?:\.[0-9]{1,3}){3}$/.test(host)
}

export const delays = nonEmptyText.refine(
  (words) => parseDelayShape(words, null) !== null,
  'must be random, quasi, constant, uniform, log-normal, bimodal or load, with its numbers',
)

export const origins = list.refine(
  (entries) => entries.every((entry) => entry === '*' || isOrigin(entry)),
  'must hold origins such as https://example.org, or *',
)

function isOrigin(entry: string): boolean {
  return !entry.includes('*') && URL.canParse(entry) && new URL(entry).origin === entry
}

/** Where callers reach the server from outside, such as https://llm.example.org. A closing slash is taken off. */
export const publicUrl = nonEmptyText
  .refine(isPublicUrl, 'must be an http or https URL without user, query and fragment')
  .transform((url) => new URL(url).href.replace(/\/+$/, ''))

function isPublicUrl(url: string): boolean {
  if (!URL.canParse(url) || /[\s?#\\]/.test(url)) return false
  const { protocol, username, password } = new URL(url)
  return (protocol === 'http:' || protocol === 'https:') && username === '' && password === ''
}

/** It may hold a password, so no message repeats it. */
export const databaseUrl = z
  .string('must be text')
  .refine(isDatabaseUrl, 'must be a URL as postgres://user:password@host:port/name')

function isDatabaseUrl(url: string): boolean {
  if (!URL.canParse(url)) return false
  const { protocol, pathname } = new URL(url)
  return (protocol === 'postgres:' || protocol === 'postgresql:') && pathname.length > 1
}

/** What a host or a pod is called. */
export const machineName = z
  .string('must be text')
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, 'must be 1 to 63 letters, digits, dots, hyphens or underscores')

/** A credential that the operator chooses. */
export const credential = z.string('must be text').regex(FIXED_KEY_PATTERN, FIXED_KEY_RULE)
