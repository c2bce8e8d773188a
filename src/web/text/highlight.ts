import highlighter from 'highlight.js/lib/common'
import { sanitisedSpans } from './sanitised.ts'

const NAMES: Readonly<Record<string, string>> = {
  dockerfile: 'bash',
  makefile: 'makefile',
  mjs: 'javascript',
  cjs: 'javascript',
  tsx: 'typescript',
  mts: 'typescript',
  proto: 'protobuf',
}

/** Returns the coloured text of a file; undefined if its language is not known. */
export function highlight(text: string, path: string): DocumentFragment | undefined {
  const name = path.slice(path.lastIndexOf('/') + 1).toLowerCase()
  const extension = name.slice(name.lastIndexOf('.') + 1)
  const language = NAMES[extension] ?? extension
  if (!highlighter.getLanguage(language)) return undefined
  return sanitisedSpans(highlighter.highlight(text, { language, ignoreIllegals: true }).value)
}
