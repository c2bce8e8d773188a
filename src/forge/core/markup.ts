import type { YamlResult } from '../../platform/markup/yaml.ts'
import { type Caller, holderOf } from './access.ts'
import type { Core } from './core.ts'
import { DomainError } from './errors.ts'

/** Maximum size of a text in bytes of UTF-8. Readme files are smaller. */
const MAX_TEXT_BYTES = 512 * 1024

/** The modes of compatible systems, and whether each keeps the line breaks of the text. */
const MODES: ReadonlyMap<string, boolean> = new Map([
  ['', false],
  ['markdown', false],
  ['gfm', true],
  ['comment', true],
])

const MARKDOWN_FILE = /\.(md|markdown|mdown|mkd|livemd)$/i

/** A text that a client wants to show. */
export interface MarkupDraft {
  readonly text: string
  /** One of MODES, or `file`. */
  readonly mode: string
  /** URL or path on this server that relative links start from; empty for none. */
  readonly context: string
  /** Path below the context that relative links start from; empty for none. */
  readonly branchPath?: string
  /** Path of the file, which decides with the mode `file`. */
  readonly filePath?: string
}

/** Returns Markdown as HTML that is safe to show. */
export async function renderMarkup(app: Core, caller: Caller, draft: MarkupDraft): Promise<string> {
  const { text, mode, filePath = '' } = draft
  if (Buffer.byteLength(text) > MAX_TEXT_BYTES) {
    throw new DomainError('INVALID_FIELD', { field: 'text', max_bytes: String(MAX_TEXT_BYTES) })
  }
  if (mode === 'file' && !MARKDOWN_FILE.test(filePath))
    throw new DomainError('INVALID_FIELD', { field: 'file_path' })
  const keepsLineBreaks = mode === 'file' ? false : MODES.get(mode)
  if (keepsLineBreaks === undefined) throw new DomainError('INVALID_FIELD', { field: 'mode' })
  if (!app.markup) throw new DomainError('SERVER_BUSY')
  const request = { text, keepsLineBreaks, baseUrl: baseUrlOf(app, draft) }
  return explained(app.markup.render(request, holderOf(caller)))
}

/**
 * Returns the value of a text of YAML, or its fault.
 *
 * @throws SERVER_BUSY
 */
export async function parseYamlText(app: Core, caller: Caller, text: string): Promise<YamlResult> {
  if (!app.markup) throw new DomainError('SERVER_BUSY')
  try {
    return await explained(app.markup.parseYaml(text, holderOf(caller)))
  } catch (error) {
    if (!(error instanceof DomainError) || error.reason !== 'TEXT_TOO_COMPLEX') throw error
    return { error: 'the text takes too long to read' }
  }
}

async function explained<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof Error) || !('kind' in error)) throw error
    throw new DomainError(error.kind === 'BUSY' ? 'SERVER_BUSY' : 'TEXT_TOO_COMPLEX')
  }
}

function baseUrlOf(app: Core, { context, branchPath = '' }: MarkupDraft): string | undefined {
  if (context === '') return undefined
  const folder = [context, branchPath].filter((part) => part !== '').join('/')
  const url = URL.canParse(`${folder}/`, `${app.publicUrl()}/`)
    ? new URL(`${folder}/`, `${app.publicUrl()}/`)
    : undefined
  return url && /^https?:$/.test(url.protocol) ? url.href : undefined
}
