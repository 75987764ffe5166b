/** What a call was rejected with; null when it was not. */
export function failureOf(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => null,
    (reason: unknown) => reason,
  )
}
