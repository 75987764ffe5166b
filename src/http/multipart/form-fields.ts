import { multipartFault } from './refusal.js'

/** The fields of a multipart form that are no files, by name, in order of arrival. */
export class MultipartFields {
  readonly #values = new Map<string, string[]>()

  add(name: string, value: string): void {
    const values = this.#values.get(name)
    if (values === undefined) this.#values.set(name, [value])
    else values.push(value)
  }

  get names(): readonly string[] {
    return [...this.#values.keys()]
  }

  /** The value of a field, undefined when absent. Throws when it came more than once. */
  single(name: string): string | undefined {
    const values = this.#values.get(name) ?? []
    if (values.length > 1) throw multipartFault('must come once', name)
    return values[0]
  }

  /**
   * The values of a list (contract/decisions 28): its parts may repeat, carry brackets or not (`name`, `name[]`), and
   * a part with commas is split on them. Empty when there is none; empty pieces and outer spaces go.
   */
  list(name: string): string[] {
    return [...(this.#values.get(name) ?? []), ...(this.#values.get(`${name}[]`) ?? [])]
      .flatMap((value) => value.split(','))
      .map((value) => value.trim())
      .filter((value) => value !== '')
  }
}
