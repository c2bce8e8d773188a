import { bufCommand, connectCommand, restCommand } from './commands.ts'
import type { Example } from './example.ts'
import { goProgram, pythonProgram, typescriptProgram } from './programs.ts'

/** Ways to repeat a call, by the names that users know. */
export const LANGUAGES = {
  curl: 'curl (REST)',
  curlConnect: 'curl (Connect)',
  buf: 'buf curl',
  typescript: 'TypeScript (connect-web)',
  python: 'Python (requests)',
  go: 'Go (connect-go)',
} as const

export type Language = keyof typeof LANGUAGES

/** Returns the text to copy; undefined if the language cannot make the call. */
export function exampleText(language: Language, example: Example): string | undefined {
  const { methodKind } = example.method
  const sendsStream = methodKind === 'client_streaming' || methodKind === 'bidi_streaming'
  if (sendsStream && language !== 'buf') return undefined
  switch (language) {
    case 'curl':
      return restCommand(example)
    case 'curlConnect':
      return methodKind === 'unary' ? connectCommand(example) : undefined
    case 'buf':
      return bufCommand(example)
    case 'typescript':
      return typescriptProgram(example)
    case 'python':
      return pythonProgram(example)
    case 'go':
      return goProgram(example)
  }
}
