import { describe, expect, it } from 'vitest'
import {
  findSubject,
  type QuotaGroup,
  type Subject,
  tightestRule,
} from '../../../../src/forge/repositories/quotas/subjects.ts'

const USAGE = { public: 100, private: 50, lfs: 30, issues: 5, releases: 15 }

function group(
  ...rules: readonly (readonly [limit: number, ...subjects: Subject[]])[]
): QuotaGroup {
  return {
    name: '',
    rules: rules.map(([limit, ...subjects]) => ({ name: '', limit, subjects })),
  }
}

/** Whether groups allow a subject: undefined if none knows the subject. */
function allows(subject: Subject, ...groups: QuotaGroup[]): boolean | undefined {
  const found = tightestRule(groups, subject, USAGE)
  return found && found.left >= 0
}

describe('rules of quotas', () => {
  it.each<[boolean | undefined, Subject, QuotaGroup[]]>([
    [undefined, 'size:all', []],
    [undefined, 'size:all', [group()]],
    [true, 'size:all', [group([200, 'size:all'])]],
    [false, 'size:all', [group([199, 'size:all'])]],
    [true, 'size:all', [group([-1, 'size:all'])]],
    [false, 'size:all', [group([0, 'size:all'])]],
    [true, 'size:assets:wiki', [group([0, 'size:assets:wiki'])]],
    // A rule about a subject is about its parts, and not about what contains the subject.
    [false, 'size:repos:public', [group([99, 'size:all'])]],
    [false, 'size:git:lfs', [group([179, 'size:git:all'])]],
    [true, 'size:git:lfs', [group([180, 'size:git:all'])]],
    [false, 'size:repos:private', [group([149, 'size:repos:all'])]],
    [undefined, 'size:all', [group([0, 'size:git:all'])]],
    [undefined, 'size:git:all', [group([0, 'size:repos:all'])]],
    [undefined, 'size:repos:all', [group([0, 'size:repos:public'])]],
    [undefined, 'size:git:lfs', [group([0, 'size:assets:all'])]],
    [false, 'size:assets:attachments:issues', [group([19, 'size:assets:attachments:all'])]],
    [true, 'size:assets:attachments:issues', [group([20, 'size:assets:all'])]],
    [false, 'size:assets:attachments:releases', [group([14, 'size:assets:attachments:releases'])]],
    // All rules of a group hold.
    [false, 'size:git:lfs', [group([30, 'size:git:lfs'], [199, 'size:all'])]],
    [true, 'size:git:lfs', [group([30, 'size:git:lfs'], [0, 'size:assets:all'])]],
    // One group is enough.
    [true, 'size:git:lfs', [group([0, 'size:all']), group([30, 'size:git:lfs'])]],
    [false, 'size:git:lfs', [group([0, 'size:all']), group([29, 'size:git:lfs'])]],
    [false, 'size:git:lfs', [group([0, 'size:all']), group([-1, 'size:assets:all'])]],
    // A rule with several subjects counts their sum.
    [true, 'size:git:lfs', [group([50, 'size:git:lfs', 'size:assets:attachments:all'])]],
    [false, 'size:git:lfs', [group([49, 'size:git:lfs', 'size:assets:attachments:all'])]],
    [false, 'size:git:lfs', [group([229, 'size:all', 'size:git:lfs'])]],
    [undefined, 'none', [group([0, 'size:all'], [0, 'none'])]],
    [undefined, 'size:git:lfs', [group([0, 'none'])]],
  ])('say %s about %s', (expected, subject, groups) => {
    expect(allows(subject, ...groups)).toBe(expected)
  })

  it('leave less where several subjects of a rule count the same bytes', () => {
    const twice = group([250, 'size:all', 'size:git:lfs'])
    expect(tightestRule([twice], 'size:git:lfs', USAGE)).toMatchObject({ used: 230, left: 10 })
    expect(tightestRule([twice], 'size:repos:public', USAGE)).toMatchObject({ left: 20 })
  })

  it('know the names of compatible systems only', () => {
    expect(findSubject('size:assets:packages:all')).toBe('size:assets:packages:all')
    expect(findSubject('size:packages')).toBeUndefined()
    expect(findSubject('toString')).toBeUndefined()
  })
})
