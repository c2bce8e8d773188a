/** Returns a text as a quotation in Markdown, with an empty line for the answer. */
export function quotationOf(text: string): string {
  const lines = text.trim().split('\n')
  return `${lines.map((line) => `> ${line}`.trimEnd()).join('\n')}\n\n`
}
