/** The words of some texts that hold no blank but between them. */
export function words(...texts: readonly string[]): string[] {
  return texts.flatMap((text) => text.split(' '))
}
