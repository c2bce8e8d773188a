/** Returns a text as a quotation in Markdown, with an empty line for the answer. */
export function quotationOf(text: string): string {
  const lines = text.trim().split('\n')
  return `${lines.map((line) => `> ${line}`.trimEnd()).join('\n')}\n\n`
}

/** Returns a block in Markdown that proposes a line, for the user to change. */
export function suggestionBlock(line: string): string {
  const runs = line.match(/`{3,}/g) ?? []
  const fence = '`'.repeat(Math.max(3, ...runs.map((run) => run.length + 1)))
  return `${fence}suggestion\n${line}\n${fence}\n`
}
