import type { Owner } from '../../accounts/schema.ts'
import { findOwnerById } from '../../accounts/users/owners.rows.ts'
import type { Caller } from '../../core/access.ts'
import { nowSeconds } from '../../core/core.ts'
import { DomainError } from '../../core/errors.ts'
import type { Page } from '../../core/names.ts'
import { openOrganization } from '../../organizations/organization-access.ts'
import type { ReposApp } from '../ports.ts'
import { invalid, requireSubject } from './quota-groups.ts'
import { groupsOf, type Limits, ownerLimit, tightestLimit } from './quota-limits.ts'
import * as rows from './quota-reports.rows.ts'
import { readUsage, rulesOfOwner } from './quotas.rows.ts'
import type { Usage } from './schema.ts'
import { type QuotaGroup, type Subject, usedBy } from './subjects.ts'

/** What owners have stored, as they and administrators see it. */

/** A limit, and what is compared with the limit. */
interface LimitView {
  readonly subjects: readonly Subject[]
  readonly limit: number
  readonly used: number
}

/** What an owner has stored, and the limits. */
export interface QuotaView {
  readonly used: Usage
  readonly groups: readonly QuotaGroup[]
  readonly limits: readonly LimitView[]
}

/**
 * Returns the organisation with a name for its owners.
 *
 * @throws ORGANIZATION_NOT_FOUND, ORGANIZATION_ACCESS_DENIED
 */
export async function openOrganizationQuota(
  app: ReposApp,
  caller: Caller,
  name: string,
): Promise<Owner> {
  const { organization } = await openOrganization(app, caller, name, 'owner')
  const owner = await findOwnerById(app.db, organization.id)
  if (!owner) throw new DomainError('ORGANIZATION_NOT_FOUND')
  return owner
}

/** Returns what an owner has stored, with pushes in progress, and the limits. */
export async function viewQuota(
  app: ReposApp,
  owner: Pick<Owner, 'id' | 'kind'>,
): Promise<QuotaView> {
  const { groups, settings } = await limitsOf(app, owner)
  const now = nowSeconds(app.clock)
  const usage = (await readUsage(app.db, owner.id, undefined, false, now)).owner
  const rules = groups.flatMap((group) => group.rules).filter(({ limit }) => limit >= 0)
  const unique = [...new Map(rules.map((rule) => [rule.name, rule])).values()]
  const limits = unique.map(({ subjects, limit }) => ({
    subjects,
    limit,
    used: usedBy(subjects, usage),
  }))
  const limit = ownerLimit(settings, owner)
  const hasRules = groups.some((group) => group.rules.length > 0)
  const own = { subjects: ['size:all'], used: usedBy(['size:all'], usage) } as const
  return {
    used: usage,
    groups,
    limits: hasRules || limit === undefined ? limits : [{ ...own, limit }],
  }
}

/**
 * Returns whether the limits about a subject hold.
 *
 * @throws INVALID_QUOTA if the subject is unknown
 */
export async function isAllowed(
  app: ReposApp,
  owner: Pick<Owner, 'id' | 'kind'>,
  subject: string,
): Promise<boolean> {
  const asked = requireSubject(subject, 'subject')
  const limits = await limitsOf(app, owner)
  const withInstance = limits.settings.instance !== undefined
  const usage = await readUsage(app.db, owner.id, undefined, withInstance, nowSeconds(app.clock))
  const tightest = tightestLimit(limits, owner, asked, usage)
  return !tightest || tightest.left >= 0
}

/** Returns a page of the uploaded files of an owner, the largest first. */
export function listFiles(app: ReposApp, owner: Pick<Owner, 'id'>, page: Page) {
  return rows.listCountedFiles(app.db, owner.id, page)
}

const ORDERS: readonly rows.UsageOrder[] = ['git', 'lfs', 'assets', 'total']

/**
 * Returns a page of the owners, and one of the repositories, the largest first.
 *
 * @param sort empty for `total`.
 * @throws INVALID_QUOTA
 */
export async function listUsage(app: ReposApp, sort: string, page: Page) {
  const order = sort === '' ? 'total' : ORDERS.find((known) => known === sort)
  if (!order) throw invalid('sort', sort)
  return {
    owners: await rows.listOwnerUsage(app.db, order, page),
    repositories: await rows.listRepositoryUsage(app.db, order, page),
  }
}

async function limitsOf(app: ReposApp, { id }: Pick<Owner, 'id'>): Promise<Limits> {
  const { quotas } = app.settings
  const groups = groupsOf(await rulesOfOwner(app.db, id, JSON.stringify(quotas.defaultGroups)))
  return { groups, settings: { ...quotas, repository: undefined } }
}
