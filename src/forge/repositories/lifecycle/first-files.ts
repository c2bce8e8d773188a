import type { Owner } from '../../accounts/schema.ts'
import { DomainError } from '../../core/errors.ts'
import { findGitignoreText } from './gitignore-templates.ts'
import { fillLicense, findLicenseText, type LicenseValues } from './license-templates.ts'

/** The only template of a README. */
const DEFAULT_README = 'Default'

/** More templates than one project needs. Each adds a text to one file. */
const MAX_GITIGNORES = 20

/** The first files of a repository, as requested. Empty texts mean the default. */
export interface FirstFilesRequest {
  readonly name: string
  readonly description: string
  readonly readme: string
  /** Names of templates, separated by commas. */
  readonly gitignores: string
  readonly license: string
}

/** The first files of a repository, by path. */
export type FirstFiles = ReadonlyMap<string, string>

/**
 * Returns the first files of a repository: a README, and the requested `.gitignore` and `LICENSE`.
 *
 * @param by holder of the copyright, e-mail address of the creator, and year.
 * @throws REPOSITORY_TEMPLATE_NOT_FOUND
 */
export async function firstFiles(
  request: FirstFilesRequest,
  by: { owner: Pick<Owner, 'name'>; email: string; year: number },
): Promise<FirstFiles> {
  const { name, description, readme, license } = request
  if (readme !== '' && readme !== DEFAULT_README) throw notFound('readme', readme)
  const files = new Map([['README.md', readmeOf(name, description)]])
  const gitignore = readGitignores(request.gitignores)
  if (gitignore !== '') files.set('.gitignore', gitignore)
  if (license === '') return files
  const text = await findLicenseText(license)
  if (text === undefined) throw notFound('license', license)
  const values: LicenseValues = {
    owner: by.owner.name,
    email: by.email,
    repository: name,
    year: by.year,
  }
  return files.set('LICENSE', `${fillLicense(text, values).trimEnd()}\n`)
}

/**
 * Returns the README that compatible systems write, to the byte: clients compare its content and
 * its object id.
 */
function readmeOf(name: string, description: string): string {
  return `# ${name}\n\n${description.replaceAll('\r\n', '\n')}`
}

function readGitignores(list: string): string {
  const names = list
    .split(',', MAX_GITIGNORES)
    .map((name) => name.trim())
    .filter((name) => name !== '')
  return names
    .map((name) => {
      const text = findGitignoreText(name)
      if (text === undefined) throw notFound('gitignores', name)
      return `# ---> ${name}\n${text}`
    })
    .join('\n')
}

function notFound(field: string, name: string): DomainError {
  return new DomainError('REPOSITORY_TEMPLATE_NOT_FOUND', { field, name: name.slice(0, 100) })
}
