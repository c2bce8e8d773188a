import type { Catalogue } from '../language/catalogue.ts'

/** Texts of conversations, in French. */
export const french = {
  Attachments: 'Pièces jointes',
  'New text of the comment': 'Nouveau texte du commentaire',
  'Save the comment': 'Enregistrer le commentaire',
  'Comment on {place}': 'Commentaire sur {place}',
  'Add to the review': 'Ajouter à la revue',
  'Begin a review': 'Commencer une revue',
  'Comment at once': 'Commenter immédiatement',
  'Suggest a change': 'Suggérer une modification',
  '{signIn} to comment.': '{signIn} pour commenter.',
  'The conversation is closed to new comments.':
    'La conversation n’accepte plus de nouveaux commentaires.',
  '{count} proposals.': { one: '{count} proposition.', other: '{count} propositions.' },
  Proposals: 'Propositions',
  'none @detail': 'non renseigné',
  'New title': 'Nouveau titre',
  'New description': 'Nouvelle description',
  'Save title and description': 'Enregistrer le titre et la description',
  'Change labels': 'Modifier les étiquettes',
  'Change assignees': 'Modifier les personnes assignées',
  'Change reviewers': 'Modifier les relecteurs',
  'Choose labels': 'Choisir des étiquettes',
  'Choose assignees': 'Choisir des personnes assignées',
  'Choose reviewers': 'Choisir des relecteurs',
  'Save labels': 'Enregistrer les étiquettes',
  'Save assignees': 'Enregistrer les personnes assignées',
  'Save reviewers': 'Enregistrer les relecteurs',
  'There are none.': 'Il n’y en a pas.',
  '{who} opened': '{who} a ouvert',
  '{who} opened {time}': '{who} a ouvert {time}',
  '{who} commented': '{who} a commenté',
  '{who} commented {time}': '{who} a commenté {time}',
  '{who} approved the changes': '{who} a approuvé les modifications',
  '{who} approved the changes {time}': '{who} a approuvé les modifications {time}',
  '{who} approved the changes (dismissed)': '{who} a approuvé les modifications (revue rejetée)',
  '{who} approved the changes (dismissed) {time}':
    '{who} a approuvé les modifications (revue rejetée) {time}',
  '{who} asked for changes': '{who} a demandé des modifications',
  '{who} asked for changes {time}': '{who} a demandé des modifications {time}',
  '{who} asked for changes (dismissed)': '{who} a demandé des modifications (revue rejetée)',
  '{who} asked for changes (dismissed) {time}':
    '{who} a demandé des modifications (revue rejetée) {time}',
  '{who} reviewed': '{who} a fait une revue',
  '{who} reviewed {time}': '{who} a fait une revue {time}',
  '{who} reviewed (dismissed)': '{who} a fait une revue (rejetée)',
  '{who} reviewed (dismissed) {time}': '{who} a fait une revue (rejetée) {time}',
  imported: 'importé',
  edited: 'modifié',
  Quote: 'Citer',
  'Quote what {who} wrote': 'Citer le texte de {who}',
  'Dismissed: {reason}': 'Rejetée : {reason}',
  'The comment is deleted for ever.': 'Le commentaire est supprimé définitivement.',
  'Changes before {place}': 'Modifications avant {place}',
  'Attach files, or paste or drop them into the text':
    'Joindre des fichiers, ou les coller ou les déposer dans le texte',
  'The files are being uploaded.': 'Les fichiers sont en cours d’envoi.',
  'Former texts': 'Anciens textes',
  'Former text': 'Ancien texte',
  'There are no former texts.': 'Il n’y a pas d’ancien texte.',
  'Until {who} changed it {time}:': 'Jusqu’à la modification par {who} {time} :',
  Participants: 'Participants',
  'Thumbs up': 'Pouce levé',
  'Thumbs down': 'Pouce baissé',
  Laugh: 'Rire',
  Hooray: 'Fête',
  Confused: 'Perplexe',
  Heart: 'Cœur',
  Rocket: 'Fusée',
  Eyes: 'Yeux',
  'Reactions to what {who} wrote': 'Réactions au texte de {who}',
  '{reaction}: {count}': '{reaction} : {count}',
  'React to what {who} wrote': 'Réagir au texte de {who}',
  React: 'Réagir',
  'line {line}': 'ligne {line}',
  'lines {from} to {to}': 'lignes {from} à {to}',
  'Change of {lines} of {path} that {who} suggests':
    'Modification suggérée par {who} : {lines} de {path}',
  'Suggestion for {lines}': 'Suggestion : {lines}',
  Apply: 'Appliquer',
  'Apply the suggestion of {who} for {lines} of {path}':
    'Appliquer la suggestion de {who} : {lines} de {path}',
  'Apply with others': 'Appliquer avec d’autres',
  'Apply with others: the suggestion of {who} for {lines} of {path}':
    'Appliquer avec d’autres : la suggestion de {who}, {lines} de {path}',
  'Chosen suggestions': 'Suggestions choisies',
  '{count} suggestions chosen.': {
    one: '{count} suggestion choisie.',
    other: '{count} suggestions choisies.',
  },
  'Apply {count} suggestions in one commit': {
    one: 'Appliquer la suggestion',
    other: 'Appliquer {count} suggestions en un seul commit',
  },
  'Choose none': 'Annuler la sélection',
  '{count} suggestions applied.': {
    one: '{count} suggestion appliquée.',
    other: '{count} suggestions appliquées.',
  },
  'Preview of: {label}': 'Aperçu de : {label}',
  'of {label}': 'de : {label}',
  '{resolved} of {count} threads resolved.': {
    one: '{resolved} fil sur {count} résolu.',
    other: '{resolved} fils sur {count} résolus.',
  },
  pending: 'en attente',
  'resolved by {who}': 'résolu par {who}',
  outdated: 'obsolète',
  Resolve: 'Marquer comme résolu',
  'Resolve: {place}': 'Marquer comme résolu : {place}',
  'Open again: {place}': 'Rouvrir : {place}',
  'Quote: comment on {path} by {who}': 'Citer : commentaire de {who} sur {path}',
  'Edit: comment on {path} by {who}': 'Modifier : commentaire de {who} sur {path}',
  'the comment on {path} by {who}': 'le commentaire de {who} sur {path}',
  Reply: 'Répondre',
  'Reply: {place}': 'Répondre : {place}',
  'Reply on {place}': 'Réponse sur {place}',
  'Send the reply': 'Envoyer la réponse',
  '{who} unlocked the conversation {time}': '{who} a déverrouillé la conversation {time}',
  '{who} removed the mark as a duplicate {time}': '{who} a retiré la marque de doublon {time}',
  '{who} scheduled the merge {time}': '{who} a planifié la fusion {time}',
  '{who} cancelled the scheduled merge {time}': '{who} a annulé la fusion planifiée {time}',
  '{who} moved the issue from another repository {time}':
    '{who} a transféré le ticket depuis un autre dépôt {time}',
  '{who} added the label {label} {time}': '{who} a ajouté l’étiquette {label} {time}',
  '{who} removed the label {label} {time}': '{who} a retiré l’étiquette {label} {time}',
  '{who} set the milestone {title} {time}': '{who} a défini le jalon {title} {time}',
  '{who} removed the milestone {title} {time}': '{who} a retiré le jalon {title} {time}',
  '{who} dismissed a review {time}': '{who} a rejeté une revue {time}',
  '{who} dismissed a review: {reason} {time}': '{who} a rejeté une revue {time} : {reason}',
  '{who} locked the conversation {time}': '{who} a verrouillé la conversation {time}',
  '{who} locked the conversation: {reason} {time}':
    '{who} a verrouillé la conversation {time} : {reason}',
  '{who} could not rebase this pull request {reason} {time}':
    '{who} n’a pas pu faire le rebase de cette pull request {time} : {reason}',
  '{who} changed the title from “{from}” to “{to}” {time}':
    '{who} a modifié le titre de « {from} » en « {to} » {time}',
  'none @branch': 'aucune',
  '{who} changed the branch from {from} to {to} {time}':
    '{who} a changé la branche de {from} à {to} {time}',
  '{who} changed the target branch from {from} to {to} {time}':
    '{who} a changé la branche cible de {from} à {to} {time}',
  '{who} set the due date {date} {time}': '{who} a défini l’échéance {date} {time}',
  '{who} changed the due date from {from} to {to} {time}':
    '{who} a modifié l’échéance de {from} à {to} {time}',
  '{who} removed the due date {date} {time}': '{who} a retiré l’échéance {date} {time}',
  '{who} is no longer assigned {time}': '{who} n’est plus assigné {time}',
  '{who} removed the assignee {assignee} {time}':
    '{who} a retiré la personne assignée {assignee} {time}',
  '{who} assigned {assignee} {time}': '{who} a assigné {assignee} {time}',
  'a team': 'une équipe',
  '{who} asked {reviewer} for a review {time}': '{who} a demandé une revue {time} : {reviewer}',
  '{who} no longer asks {reviewer} for a review {time}':
    '{who} a retiré la demande de revue {time} : {reviewer}',
  '{who} asked the team {team} for a review {time}':
    '{who} a demandé une revue à l’équipe {team} {time}',
  '{who} no longer asks the team {team} for a review {time}':
    '{who} a retiré la demande de revue à l’équipe {team} {time}',
  '{who} closed the issue {time}': '{who} a fermé le ticket {time}',
  '{who} closed the issue as completed {time}': '{who} a fermé le ticket comme terminé {time}',
  '{who} closed the issue as not planned {time}':
    '{who} a fermé le ticket comme non planifié {time}',
  '{who} closed the issue as a duplicate {time}': '{who} a fermé le ticket comme doublon {time}',
  '{who} opened the issue again {time}': '{who} a rouvert le ticket {time}',
  '{who} closed the issue by {commit} {time}': '{who} a fermé le ticket par {commit} {time}',
  '{who} closed the issue as completed by {commit} {time}':
    '{who} a fermé le ticket comme terminé par {commit} {time}',
  '{who} closed the issue as not planned by {commit} {time}':
    '{who} a fermé le ticket comme non planifié par {commit} {time}',
  '{who} closed the issue as a duplicate by {commit} {time}':
    '{who} a fermé le ticket comme doublon par {commit} {time}',
  '{who} opened the issue again by {commit} {time}':
    '{who} a rouvert le ticket par {commit} {time}',
  '{who} pinned the issue {time}': '{who} a épinglé le ticket {time}',
  '{who} unpinned the issue {time}': '{who} a désépinglé le ticket {time}',
  '{who} took the issue on {time}': '{who} a pris en charge le ticket {time}',
  '{who} will close the issue by {issue} {time}': '{who} fermera le ticket par {issue} {time}',
  '{who} named the issue in {issue} {time}': '{who} a mentionné le ticket dans {issue} {time}',
  '{who} named the issue in the commit {commit} {time}':
    '{who} a mentionné le ticket dans le commit {commit} {time}',
  '{who} marked the issue as a duplicate of {issue} {time}':
    '{who} a marqué le ticket comme doublon de {issue} {time}',
  '{who} closed the pull request {time}': '{who} a fermé la pull request {time}',
  '{who} opened the pull request again {time}': '{who} a rouvert la pull request {time}',
  '{who} closed the pull request by {commit} {time}':
    '{who} a fermé la pull request par {commit} {time}',
  '{who} opened the pull request again by {commit} {time}':
    '{who} a rouvert la pull request par {commit} {time}',
  '{who} pinned the pull request {time}': '{who} a épinglé la pull request {time}',
  '{who} unpinned the pull request {time}': '{who} a désépinglé la pull request {time}',
  '{who} took the pull request on {time}': '{who} a pris en charge la pull request {time}',
  '{who} will close the pull request by {issue} {time}':
    '{who} fermera la pull request par {issue} {time}',
  '{who} named the pull request in {issue} {time}':
    '{who} a mentionné la pull request dans {issue} {time}',
  '{who} named the pull request in the commit {commit} {time}':
    '{who} a mentionné la pull request dans le commit {commit} {time}',
  '{who} marked the pull request as a duplicate of {issue} {time}':
    '{who} a marqué la pull request comme doublon de {issue} {time}',
  '{who} merged the pull request {time}': '{who} a fusionné la pull request {time}',
  '{who} merged the pull request by {commit} {time}':
    '{who} a fusionné la pull request par {commit} {time}',
  '{who} moved the branch to {commit} {time}': '{who} a déplacé la branche sur {commit} {time}',
  '{who} moved the branch from {old} to {commit} {compare} {time}':
    '{who} a déplacé la branche de {old} à {commit} {time}. {compare}',
  '{who} force-pushed the branch from {old} to {commit} {compare} {time}':
    '{who} a déplacé la branche de {old} à {commit} par un push forcé {time}. {compare}',
  '{who} made a dependency with {issue} {time}': '{who} a créé une dépendance avec {issue} {time}',
  '{who} removed the dependency with {issue} {time}':
    '{who} a retiré la dépendance avec {issue} {time}',
  '{who} added the sub-issue {issue} {time}': '{who} a ajouté le sous-ticket {issue} {time}',
  '{who} removed the sub-issue {issue} {time}': '{who} a retiré le sous-ticket {issue} {time}',
  '{who} made the issue a part of {issue} {time}': '{who} a rattaché le ticket à {issue} {time}',
  '{who} removed the issue from {issue} {time}': '{who} a détaché le ticket de {issue} {time}',
} satisfies Catalogue
