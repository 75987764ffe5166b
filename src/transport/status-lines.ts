import { STATUS_CODES } from 'node:http'

/** Status code to status line text. 524 and 529 are not registered but part of the gateway's contract. */
export const STATUS_LINES: Readonly<Record<number, string>> = Object.freeze({
  ...Object.fromEntries(Object.entries(STATUS_CODES).map(([code, text]) => [code, `${code} ${text}`])),
  524: '524 A Timeout Occurred',
  529: '529 Site is overloaded',
})
