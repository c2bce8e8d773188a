import type { ColouredLines } from './runs.ts'

/** Returns the elements of a text with colours. */
export function elementsOf(lines: ColouredLines): DocumentFragment {
  const content = document.createDocumentFragment()
  for (const [i, runs] of lines.entries()) {
    if (i > 0) content.append('\n')
    for (const { text, classes } of runs) content.append(elementOf(text, classes))
  }
  return content
}

function elementOf(text: string, classes: readonly string[]): Node {
  return classes.reduceRight<Node>((inner, className) => {
    const span = document.createElement('span')
    span.className = className
    span.append(inner)
    return span
  }, document.createTextNode(text))
}
