// The timeline in the footer.

/** Starts the timeline in its place. */
export function startTimeline(place) {
  place.hidden = true;
}
