import type { YamlResult } from '../../../platform/markup/yaml.ts'
import { isYamlMap, TemplateFault } from './issue-forms.ts'

/** A place outside of the issues for questions. */
interface ContactLink {
  readonly name: string
  readonly url: string
  readonly about: string
}

/** What a repository offers to those who want to open an issue. */
export interface IssueConfig {
  readonly blankIssuesEnabled: boolean
  readonly contactLinks: readonly ContactLink[]
}

/** The configuration of a repository without a file. */
export const DEFAULT_CONFIG: IssueConfig = { blankIssuesEnabled: true, contactLinks: [] }

/**
 * Returns the configuration that a file describes.
 *
 * @throws TemplateFault for the first rule that the file breaks.
 */
export function issueConfigOf(parsed: YamlResult): IssueConfig {
  if ('error' in parsed) throw new TemplateFault(parsed.error)
  const source = parsed.value ?? {}
  if (!isYamlMap(source)) throw new TemplateFault('the file should have keys')
  const blank = source.blank_issues_enabled ?? true
  if (typeof blank !== 'boolean')
    throw new TemplateFault('blank_issues_enabled should be true or false')
  const links = source.contact_links ?? []
  if (!Array.isArray(links)) throw new TemplateFault('contact_links should be a list')
  return {
    blankIssuesEnabled: blank,
    contactLinks: links.map((link, index) => contactLinkOf(link, index + 1)),
  }
}

function contactLinkOf(link: Parameters<typeof isYamlMap>[0], position: number): ContactLink {
  const textOf = (key: keyof ContactLink): string => {
    const value = isYamlMap(link) ? link[key] : undefined
    if (typeof value === 'string' && value.trim() !== '') return value
    throw new TemplateFault(`contact_link at position ${position} is missing ${key} key`)
  }
  const [name, url, about] = [textOf('name'), textOf('url'), textOf('about')]
  // The page links to the URL, so a script must not be one.
  if (!URL.canParse(url) || !/^(https?|mailto):$/.test(new URL(url).protocol))
    throw new TemplateFault(`contact_link at position ${position} has an invalid url: ${url}`)
  return { name, url, about }
}
